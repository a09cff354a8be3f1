<?xml version="1.0" encoding="utf-8"?>
<!-- The corpus of `tapstat corpus` in DaCHS. dachs.sh puts this file and the
corpus to where `dachs imp tapstat/q` finds them. -->
<resource schema="tapstat" resdir="tapstat">
	<meta name="creationDate">2026-01-01T00:00:00Z</meta>
	<meta name="title">Corpus of tapstat</meta>
	<meta name="description">A synthetic table of observations, the same for one
		seed on any machine, against which TAP servers are measured. No data
		lies behind it.</meta>
	<meta name="creator">tapstat</meta>
	<meta name="subject">virtual-observatories</meta>
	<meta name="coverage.profile">AllSky ICRS</meta>

	<table id="observations" onDisk="True" adql="True">
		<meta name="title">Synthetic observations</meta>
		<meta name="description">What ivoa.obscore shows: the mandatory columns of
			ObsCore 1.1.</meta>

		<!-- The view casts s_fov, s_resolution and em_* to real; an index on a
		column of another type would not be used through it. The optional columns
		are null. -->
		<mixin
			dataproduct_subtype="NULL"
			obs_title="NULL"
			obs_creator_did="NULL"
			target_class="NULL"
			s_pixel_scale="NULL"
			em_ucd="NULL"
			preview="NULL"
			source_table="'\qName'"
			createDIDIndex="False">//obscore#publishObscoreLike</mixin>

		<primary>obs_publisher_did</primary>
		<!-- The view declares a q3c index, and CONTAINS becomes q3c_join: without a
		true one, every cone is a scan of the table. -->
		<mixin>//scs#q3cindex</mixin>
		<index columns="s_region" method="GIST"/>
		<index columns="obs_id"/>
		<index columns="obs_collection"/>
		<index columns="dataproduct_type"/>
		<index columns="t_min"/>
		<index columns="t_max"/>
		<index columns="em_min"/>
		<index columns="em_max"/>

		<stc>Position ICRS "s_ra" "s_dec"</stc>
		<stc>Polygon ICRS [s_region]</stc>

		<column name="dataproduct_type" type="text"
			ucd="meta.code.class" description="Kind of data product"/>
		<column name="calib_level" type="smallint" required="True"
			ucd="meta.code;obs.calib" description="Calibration level, 0 to 4"/>
		<column name="obs_collection" type="text" required="True"
			ucd="meta.id" description="Collection that the observation belongs to"/>
		<column name="obs_id" type="text" required="True"
			ucd="meta.id" description="Identifier of the observation"/>
		<column name="obs_publisher_did" type="text" required="True"
			ucd="meta.ref.ivoid" description="Identifier of the data set, the publisher's"/>
		<column name="access_url" type="text"
			ucd="meta.ref.url" description="Where the data would lie"/>
		<column name="access_format" type="text"
			ucd="meta.code.mime" description="Media type of the data"/>
		<column name="access_estsize" type="bigint" unit="kbyte"
			ucd="phys.size;meta.file" description="Estimated size">
			<values nullLiteral="-1"/>
		</column>
		<column name="target_name" type="unicode"
			ucd="meta.id;src" description="Object that was observed"/>
		<column name="s_ra" type="double precision" unit="deg"
			ucd="pos.eq.ra;meta.main" description="Right ascension of the centre, ICRS"/>
		<column name="s_dec" type="double precision" unit="deg"
			ucd="pos.eq.dec;meta.main" description="Declination of the centre, ICRS"/>
		<column name="s_fov" type="real" unit="deg"
			ucd="phys.angSize;instr.fov" description="Diameter of the field"/>
		<column name="s_region" type="spoly"
			ucd="pos.outline;obs.field" description="Outline of the field"/>
		<column name="s_resolution" type="real" unit="arcsec"
			ucd="pos.angResolution" description="Resolution on the sky"/>
		<column name="t_min" type="double precision" unit="d"
			ucd="time.start;obs.exposure" description="Start, MJD"/>
		<column name="t_max" type="double precision" unit="d"
			ucd="time.end;obs.exposure" description="End, MJD"/>
		<column name="t_exptime" type="double precision" unit="s"
			ucd="time.duration;obs.exposure" description="Exposure time"/>
		<column name="t_resolution" type="double precision" unit="s"
			ucd="time.resolution" description="Resolution in time"/>
		<column name="em_min" type="real" unit="m"
			ucd="em.wl;stat.min" description="Shortest wavelength"/>
		<column name="em_max" type="real" unit="m"
			ucd="em.wl;stat.max" description="Longest wavelength"/>
		<column name="em_res_power" type="real"
			ucd="spect.resolution" description="Spectral resolving power"/>
		<column name="o_ucd" type="text"
			ucd="meta.ucd" description="UCD of what was measured"/>
		<column name="pol_states" type="text"
			ucd="meta.code;phys.polarization" description="Polarization states"/>
		<column name="facility_name" type="text"
			ucd="meta.id;instr.tel" description="Telescope or observatory"/>
		<column name="instrument_name" type="text"
			ucd="meta.id;instr" description="Instrument"/>
		<column name="s_xel1" type="bigint"
			ucd="meta.number" description="Pixels along the first axis">
			<values nullLiteral="-1"/>
		</column>
		<column name="s_xel2" type="bigint"
			ucd="meta.number" description="Pixels along the second axis">
			<values nullLiteral="-1"/>
		</column>
		<column name="t_xel" type="bigint"
			ucd="meta.number" description="Steps in time">
			<values nullLiteral="-1"/>
		</column>
		<column name="em_xel" type="bigint"
			ucd="meta.number" description="Steps in wavelength">
			<values nullLiteral="-1"/>
		</column>
		<column name="pol_xel" type="bigint"
			ucd="meta.number" description="Polarization states, counted">
			<values nullLiteral="-1"/>
		</column>
	</table>

	<data id="import">
		<sources pattern="data/obscore.csv"/>
		<csvGrammar enc="utf-8"/>
		<make table="observations">
			<rowmaker idmaps="*">
				<!-- An empty field is null, whatever the column. -->
				<apply name="empty_is_null">
					<code>
						for key, value in vars.items():
							if value == "":
								vars[key] = None
					</code>
				</apply>
			</rowmaker>
		</make>
	</data>
</resource>
